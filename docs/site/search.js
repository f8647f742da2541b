// Try the search of a built site, with the theme's own code: every word that docs/site/hooks.py gives
// a page, and every metric with a cutoff, must lead to that page first.
//
//     node docs/site/search.js build/site

const fs = require("fs");
const path = require("path");
const vm = require("vm");

const site = process.argv[2];
const workers = path.join(site, "assets", "javascripts", "workers");
const file = fs.readdirSync(workers).find((name) => /^search\..*\.js$/.test(name));
const index = JSON.parse(fs.readFileSync(path.join(site, "search", "search_index.json"), "utf8"));

// The worker reads messages of these types, and answers each with one.
const SETUP = 0;
const QUERY = 2;
let read, answered;
const worker = vm.createContext({
  console,
  addEventListener: (_, listener) => (read = listener),
  postMessage: (message) => answered(message),
});
vm.runInContext("self = globalThis", worker);
vm.runInContext(fs.readFileSync(path.join(workers, file), "utf8"), worker);

function ask(type, data) {
  return new Promise((resolve) => {
    answered = (message) => resolve(message.data);
    read({ data: { type, data } });
  });
}

async function pages(words) {
  const { items } = await ask(QUERY, words);
  return items.map(([{ location }]) => location.replace(/#.*/, ""));
}

async function main() {
  await ask(SETUP, { ...index, options: { suggest: false } });
  const faults = [];
  let tried = 0;
  for (const { location, tags } of index.docs) {
    const isPage = !location.includes("#"); // a section has the words of its page
    for (const word of isPage && tags ? tags : []) {
      const asked = location.startsWith("metrics/") ? [word, `${word}@10`] : [word];
      for (const words of asked) {
        const [first] = await pages(words);
        tried += 1;
        if (first !== location) faults.push(`${words}: ${first ?? "nothing"}, not ${location}`);
      }
    }
  }
  console.log(`${tried} searches, ${faults.length} faults`);
  console.log(faults.join("\n"));
  process.exitCode = faults.length || !tried ? 1 : 0;
}

main();
