// The site's only script: it replays what a lesson's run recorded, asks the page's questions, and searches.
"use strict";

(() => {
  const make = (name, attributes = {}, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key in element && typeof value !== "string") element[key] = value;
      else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  };

  // A page in another language than English brings the script's words along.
  const say = (words, values = {}) =>
    (window.MINIKAFKA.words?.[words] ?? words).replace(/\{(\w+)\}/g, (_, name) => values[name]);

  // What a reader has set stays on his machine; a browser that keeps nothing for files forgets it, and that is all.
  const kept = {
    get(key) { try { return localStorage.getItem(`minikafka ${key}`); } catch { return null; } },
    set(key, value) { try { localStorage.setItem(`minikafka ${key}`, value); } catch { /* nothing is kept */ } },
    rename(key, other) {
      const value = kept.get(key);
      if (value === null) return;
      kept.set(other, value);
      try { localStorage.removeItem(`minikafka ${key}`); } catch { /* nothing is kept */ }
    },
    keys() {
      const mine = "minikafka ";
      try {
        return Object.keys(localStorage).filter((key) => key.startsWith(mine)).map((key) => key.slice(mine.length));
      } catch { return []; }
    },
  };

  // Light and dark: the system's choice, until the reader chooses.
  const theme = document.getElementById("theme");
  const isDark = () => document.body.dataset.jpThemeLight
    ? document.body.dataset.jpThemeLight === "false"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const setTheme = (dark) => { document.body.dataset.jpThemeLight = String(!dark); };
  if (kept.get("theme")) setTheme(kept.get("theme") === "dark");
  theme.addEventListener("click", () => {
    setTheme(!isDark());
    kept.set("theme", isDark() ? "dark" : "light");
  });

  // The records are gzipped JSON in base64.
  async function records() {
    const packed = atob(window.MINIKAFKA.records);
    const bytes = Uint8Array.from(packed, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  }

  function player(place, record) {
    const last = record.frames.length - 1;
    const slider = make("input", { type: "range", min: "0", max: String(last), "aria-label": say("Frame of {title}", record) });
    const count = make("span", { class: "mk-faint" });
    const picture = make("div", { class: "picture mk scroll" });
    const words = make("pre", { class: "words" });
    const show = (number) => {
      slider.value = number;
      const place = { number: number + 1, count: last + 1, words: record.words[number].split("\n")[0] };
      slider.setAttribute("aria-valuetext", say("{number} of {count}: {words}", place));
      count.textContent = say("frame {number} of {count}", place);
      picture.innerHTML = record.frames[number];
      words.textContent = record.words[number];
      reachable(picture);
    };
    const step = (by) => show(Math.min(Math.max(Number(slider.value) + by, 0), last));
    const back = make("button", { type: "button" }, say("◀ back"));
    const next = make("button", { type: "button" }, say("next ▶"));
    back.addEventListener("click", () => step(-1));
    next.addEventListener("click", () => step(1));
    slider.addEventListener("input", () => show(Number(slider.value)));
    const controls = make("div", { class: "controls" }, back, slider, next);
    const text = make("details", {}, make("summary", {}, say("this frame as text")), words);
    place.replaceChildren(make("p", {}, make("b", {}, record.title), " ", count));
    if (last) place.append(controls);
    place.append(picture, text);
    show(record.start);
  }

  // Answers are compared as a forgiving reader of Python would: without spaces, brackets, quotes and capitals.
  function plain(words) {
    const bare = words.replace(/[\s()[\]'"_]/g, "").replace(/,$/, "").toLowerCase();
    return /^-?[\d,]+$/.test(bare) && /^-?\d{1,3}(,\d{3})+$/.test(bare) ? bare.replaceAll(",", "") : bare;
  }

  function question(place, record) {
    const key = `${window.MINIKAFKA.page}: ${record.id}`;
    kept.rename(`${window.MINIKAFKA.page}: ${record.question}`, key);  // as earlier pages kept it
    const [, number] = window.MINIKAFKA.page.match(/^(\d\d)[a-z]-/) ?? [];  // 04a and 04b were once 04
    const whole = number && kept.keys().find((other) => other.startsWith(`${number}-`) && other.endsWith(`: ${record.id}`));
    if (whole) kept.rename(whole, key);
    const input = make("input", { type: "text", autocomplete: "off", spellcheck: false });
    const verdict = make("p", { role: "status" });
    const judge = () => {
      const said = input.value.trim();
      if (!said) return;
      kept.set(key, said);
      for (const folded of document.querySelectorAll(`[data-after="${place.dataset.record}"]`)) folded.open = true;
      const isRight = plain(said) === plain(record.answer);
      const belief = record.beliefs.find(([wrong]) => plain(wrong) === plain(said));
      verdict.className = isRight ? "mk-good" : "mk-bad";
      const values = { said, given: record.answer, belief: belief ? belief[1] : "" };
      verdict.textContent = isRight
        ? say("✓ You said {said}, and so it is.", values)
        : say("✗ You said {said}; the run gives {given}. {belief}", values);
    };
    const form = make("form", { class: "mk mk-box" },
      make("label", {}, make("b", {}, say("Predict."), " "), record.question, " ", input), make("button", {}, say("Answer")), verdict);
    form.addEventListener("submit", (event) => { event.preventDefault(); judge(); });
    place.replaceChildren(form);
    if (kept.get(key)) { input.value = kept.get(key); judge(); }
  }

  // What is wider than its frame can be scrolled by keyboard, too.
  function reachable(frame) {
    if (frame.scrollWidth > frame.clientWidth) {
      frame.tabIndex = 0;
      frame.setAttribute("role", "group");
      frame.setAttribute("aria-label", say("Can be scrolled sideways"));
    } else {
      for (const name of ["tabindex", "role", "aria-label"]) frame.removeAttribute(name);
    }
  }
  const frames = () => document.querySelectorAll("pre, .scroll, [style*=overflow]").forEach(reachable);
  addEventListener("resize", frames);
  for (const folded of document.querySelectorAll("details.after")) folded.addEventListener("toggle", frames);

  // Beside a wide page its contents stand open.
  const contents = document.querySelector(".contents details");
  if (contents) contents.open = matchMedia("(min-width: 1240px)").matches;

  // The start page is a map: how far one has come in each lesson.
  for (const line of document.querySelectorAll("[data-lesson]")) {
    const { lesson, questions } = line.dataset;
    if (questions === "0") continue;
    const done = Math.min(kept.keys().filter((key) => key.startsWith(`${lesson}: `)).length, Number(questions));
    const words = `${done} of ${questions} predictions made`;
    line.append(make("meter", { min: "0", max: questions, value: String(done), "aria-label": words }), ` ${words}`);
  }

  // The search: all words that were typed must occur in a section; a hit in a heading comes first.
  const search = document.getElementById("search");
  const found = document.getElementById("found");
  function look() {
    const wanted = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    found.hidden = !wanted.length;
    if (!wanted.length) return;
    const hits = [];
    for (const [page, anchor, title, heading, words] of window.MINIKAFKA_SEARCH ?? []) {
      const inHeading = `${title} ${heading}`.toLowerCase();
      const inWords = words.toLowerCase();
      if (!wanted.every((word) => inHeading.includes(word) || inWords.includes(word))) continue;
      const at = Math.max(inWords.indexOf(wanted[0]) - 40, 0);
      const weight = wanted.filter((word) => inHeading.includes(word)).length;
      hits.push([weight, make("li", {}, make("a", { href: `${page}.html#${anchor}` }, `${title}: ${heading}`),
        make("span", { class: "mk-faint" }, ` ${at ? "…" : ""}${words.slice(at, at + 140)}…`))]);
    }
    hits.sort((one, other) => other[0] - one[0]);
    const most = 20;
    const line = hits.length > most
      ? say("{count} sections, the first {most}:", { count: hits.length, most })
      : say("{count} sections", { count: hits.length });
    found.replaceChildren(make("p", {}, line), make("ul", {}, ...hits.slice(0, most).map((hit) => hit[1])));
  }
  search.addEventListener("input", look);
  document.getElementById("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    found.querySelector("a")?.focus();
  });
  found.addEventListener("click", (event) => {
    if (event.target.closest("a")) { search.value = ""; look(); }
  });
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, textarea");
    if (event.key === "/" && !isTyping) { event.preventDefault(); search.focus(); }
    if (event.key === "Escape" && !found.hidden) { search.value = ""; look(); search.focus(); }
  });

  records().then((all) => {
    for (const place of document.querySelectorAll("[data-record]")) {
      const record = all[Number(place.dataset.record)];
      (record.kind === "player" ? player : question)(place, record);
    }
    frames();
    document.body.dataset.ready = "true";
  });
})();
