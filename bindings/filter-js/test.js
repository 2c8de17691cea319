// node test.js DIRECTORY, tests/data/filters.
import { readFileSync } from "node:fs";

import { checkAll } from "./checks.js";

const directory = process.argv[2];
const golden = JSON.parse(readFileSync(`${directory}/answers.json`, "utf8"));
console.log(checkAll(golden, (name) => new Uint8Array(readFileSync(`${directory}/${name}.filter`))));
