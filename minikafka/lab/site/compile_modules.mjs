// `node compile_modules.mjs FOLDER IMPORTS`: runs compile_modules.py in the Pyodide of FOLDER, with its wheels.
// IMPORTS is a file of statements, one a line.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const folder = resolve(process.argv[2]) + "/";
const { loadPyodide } = await import(pathToFileURL(folder + "pyodide.mjs"));
const { packages } = JSON.parse(readFileSync(folder + "pyodide-lock.json", "utf8"));
const python = await loadPyodide({ indexURL: folder, packages: Object.keys(packages) });
python.FS.mkdirTree("/built");
python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, "/built");
python.globals.set("imports", readFileSync(process.argv[3], "utf8"));
python.runPython(readFileSync(new URL("compile_modules.py", import.meta.url), "utf8"));
python.runPython("compile_loaded('/built', imports)");
process.exit(0);
