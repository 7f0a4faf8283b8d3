// Python as JupyterLite's worker asks for it, in the place of Pyodide's own module: with the course's packages already
// there. All packages are one file, which is laid down before Python starts.
//
// That file and Python itself come gzipped, since not every server compresses, and are opened here. Their names do not
// end in .gz: some servers say of such files that they are compressed, and the browser would open them before.
//
// Of a file of WebAssembly a browser also keeps the machine code, but only if the file comes plain, which is six megabytes
// more. So the first visit begins with the packed file, and fetches the plain one a while after the first cell was run.
// Later visits take that one from the browser's cache; from the third visit on, its machine code is there too.
import { loadPyodide as load, version } from "./pyodide.mjs";

export { version };

const here = new URL("./", import.meta.url).href;
const WASM = here + "pyodide.asm.wasm";
// The cache is asked for it whatever its age, so its address tells which Pyodide it is of.
const PLAIN_WASM = `${WASM}?${version}`;
const UNTIL_PLAIN_MS = 10_000; // after the first cell was begun
const PACKED = {
    [WASM]: "application/wasm",
    [here + "python_stdlib.zip"]: "application/zip",
    [here + "pyodide.asm.mjs"]: "text/javascript",
    [here + "packages"]: "application/octet-stream",
};
const fetchPlain = globalThis.fetch;
let early = null;
let isPacked = false;

// Fetch them side by side; gives the promise of each one's content.
function opened() {
    const coming = Object.entries(PACKED).map(([file, type]) => [file, file === WASM ? wasm() : openedOne(file, type)]);
    return Object.fromEntries(coming);
}

async function wasm() {
    try {
        const kept = await fetchPlain(PLAIN_WASM, { cache: "only-if-cached", mode: "same-origin" });
        if (kept.ok) return kept;
    } catch {
        // it is not in the cache: some browsers answer, others refuse
    }
    isPacked = true;
    return openedOne(WASM, PACKED[WASM]);
}

// JupyterLite calls the worker's `execute` for each cell: a message that names the function.
function atFirstCell(what) {
    const seen = ({ data }) => {
        if (data?.path?.at(-1) !== "execute") return;
        removeEventListener("message", seen);
        what();
    };
    addEventListener("message", seen);
}

async function fetchIntoCache(file) {
    try {
        await (await fetchPlain(file, { priority: "low" })).arrayBuffer();
    } catch (failure) {
        console.warn(`${file}: ${failure.message}`);
    }
}

async function openedOne(file, type) {
    const answer = await fetchPlain(file + ".packed");
    if (!answer.ok) throw new Error(`${answer.url}: ${answer.status} ${answer.statusText}`);
    const open = answer.body.pipeThrough(new DecompressionStream("gzip"));
    return new Response(open, { headers: { "Content-Type": type } });
}

async function imported(file) {
    return import(URL.createObjectURL(await (await file).blob()));
}

// The file of packages: the length of its list, the list (path and size of each file, as JSON), all files' bytes.
async function layDown(packages, FS, top) {
    const bytes = new Uint8Array(await (await packages).arrayBuffer());
    const begin = 4 + new DataView(bytes.buffer).getUint32(0);
    const made = new Set();
    let at = begin;
    for (const [path, size] of JSON.parse(new TextDecoder().decode(bytes.subarray(4, begin)))) {
        const folder = `${top}/${path}`.replace(/\/[^/]*$/, "");
        if (!made.has(folder)) FS.mkdirTree(folder);
        made.add(folder);
        FS.writeFile(`${top}/${path}`, bytes.subarray(at, at + size), { canOwn: true });
        at += size;
    }
}

async function begun(imports) {
    const coming = opened();
    globalThis.fetch = (asked, ...rest) => coming[asked] ?? fetchPlain(asked, ...rest);
    const python = await load({
        indexURL: here,
        createPyodideModule: (await imported(coming[here + "pyodide.asm.mjs"])).default,
        fsInit: (FS, { sitePackages }) => layDown(coming[here + "packages"], FS, sitePackages),
    });
    globalThis.fetch = fetchPlain;
    for (const statement of await imports) {
        try {
            python.runPython(statement, { globals: python.toPy({}) });
        } catch (failure) {
            console.warn(`${statement}: ${failure.message}`); // the cell that needs it will say so
        }
    }
    return python;
}

async function importsOf(notebook) {
    const answer = await fetchPlain(here + "imports.json");
    const { kernel, notebooks } = await answer.json();
    return [...kernel, ...(notebooks[notebook] ?? [])];
}

// Begin before the worker is asked for anything, and import what the cells of this notebook will import.
export function begin(notebook) {
    early = begun(importsOf(notebook));
}

export async function loadPyodide({ stdout, stderr }) {
    const python = await (early ?? begun(importsOf(null)));
    early = null;
    if (isPacked) atFirstCell(() => setTimeout(fetchIntoCache, UNTIL_PLAIN_MS, PLAIN_WASM));
    python.setStdout({ batched: stdout });
    python.setStderr({ batched: stderr });
    return python;
}
