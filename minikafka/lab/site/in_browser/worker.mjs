// A worker of JupyterLite's kernel that begins at once, for the notebook that its address names.
import "COMLINK_WORKER";
import { begin } from "./python.mjs";

begin(new URL(location).searchParams.get("path"));
