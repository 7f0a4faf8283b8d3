// ipywidgets gives a slider no name that a screen reader could say. Here each gets its label, or else the title of the
// picture that it moves.
{
    const nameAll = () => {
        for (const handle of document.querySelectorAll(".noUi-handle:not([aria-label])")) {
            const label = handle.closest(".widget-slider")?.querySelector(".widget-label")?.textContent;
            const title = handle.closest(".widget-vbox")?.querySelector(".mk b")?.textContent;
            if (label || title) handle.setAttribute("aria-label", label || title);
        }
    };
    new MutationObserver(nameAll).observe(document.documentElement, { childList: true, subtree: true });
}
