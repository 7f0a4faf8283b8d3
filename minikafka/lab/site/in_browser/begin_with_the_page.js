// JupyterLite starts the kernel's worker when the notebook is on the screen. Here it starts with the page, so that both
// get ready side by side, and is given to JupyterLite when it asks.
{
    const Plain = window.Worker;
    const notebook = new URLSearchParams(location.search).get("path");
    if (notebook && !crossOriginIsolated) { // an isolated page has another worker
        const address = new URL(`../static/pyodide/worker.mjs?path=${encodeURIComponent(notebook)}`, location);
        const early = new Plain(address, { type: "module" });
        window.Worker = function (asked, options) {
            if (!String(asked).includes("/comlink.worker.")) return new Plain(asked, options);
            window.Worker = Plain;
            return early;
        };
    }
}
