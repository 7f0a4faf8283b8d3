// ipywidgets gives a slider no name that a screen reader could say. Here each gets the title of its picture.
{
    const nameAll = () => {
        for (const handle of document.querySelectorAll(".noUi-handle:not([aria-label])")) {
            const title = handle.closest(".widget-vbox")?.querySelector(".mk b");
            if (title) handle.setAttribute("aria-label", title.textContent);
        }
    };
    new MutationObserver(nameAll).observe(document.documentElement, { childList: true, subtree: true });
}
