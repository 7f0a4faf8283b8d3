// In a narrow window a picture, a table or a text of fixed width scrolls. Whoever has no mouse must reach it by Tab, to
// scroll it by the arrows.
{
    const couldScroll = ".jp-OutputArea-output, .jp-OutputArea .mk, .jp-OutputArea pre";
    let waits = false;
    const look = () => {
        waits = false;
        for (const each of document.querySelectorAll(couldScroll)) {
            if (each.scrollWidth > each.clientWidth && !each.hasAttribute("tabindex")) each.tabIndex = 0;
        }
    };
    const lookSoon = () => {
        if (!waits) setTimeout(look, 300);  // many changes come at once, and the look costs a layout
        waits = true;
    };
    new MutationObserver(lookSoon).observe(document.documentElement, { childList: true, subtree: true });
    addEventListener("resize", lookSoon);
}
