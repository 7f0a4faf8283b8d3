// The only script of a deck: one slide at a time, and an answer only when it is asked for.
"use strict";

(() => {
  const slides = [...document.querySelectorAll(".slide")];
  const find = (id) => document.getElementById(id);
  let now = 0;

  const show = (place) => {
    now = Math.min(Math.max(place, 0), slides.length - 1);
    slides.forEach((slide, i) => slide.classList.toggle("now", i === now));
    find("number").textContent = `${now + 1} / ${slides.length}`;
    history.replaceState(null, "", `#${now + 1}`);
    scrollTo(0, 0);
  };
  const answer = () => slides[now].querySelector(".answer");
  const on = () => {
    if (answer() && !answer().open) answer().open = true;
    else show(now + 1);
  };
  const back = () => {
    if (answer()?.open) answer().open = false;
    else show(now - 1);
  };
  const notes = () => find("notes").setAttribute("aria-pressed", document.body.classList.toggle("with-notes"));

  const keys = {
    ArrowRight: on, PageDown: on, ArrowLeft: back, PageUp: back, n: notes,
    Home: () => show(0), End: () => show(slides.length - 1),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  find("on").addEventListener("click", on);
  find("back").addEventListener("click", back);
  find("notes").addEventListener("click", notes);

  // A swipe is a finger that goes sideways; one that goes up or down scrolls.
  let from = null;
  addEventListener("touchstart", (event) => { from = event.changedTouches[0]; }, { passive: true });
  addEventListener("touchend", (event) => {
    const to = event.changedTouches[0];
    const across = to.clientX - from.clientX;
    if (Math.abs(across) > 60 && Math.abs(across) > 2 * Math.abs(to.clientY - from.clientY)) (across < 0 ? on : back)();
  });

  // On paper nobody can ask for an answer.
  addEventListener("beforeprint", () => document.querySelectorAll(".answer").forEach((each) => { each.open = true; }));
  addEventListener("hashchange", () => show(Number(location.hash.slice(1)) - 1));

  document.body.classList.add("live");
  show((Number(location.hash.slice(1)) || 1) - 1);
  document.body.dataset.ready = "yes";
})();
