// Plain JavaScript that any version of Node can run, so that an old one gets a message and not a syntax error.
// `npm ci` builds the bundle, which starts faster and uses less memory than the sources.
const bundle = new URL('../dist/lib/main.js', import.meta.url).href;

if (Number(process.versions.node.split('.')[0]) >= 24) {
  const { existsSync } = process.getBuiltinModule('node:fs');
  await import(existsSync(new URL(bundle)) ? bundle : new URL('../src/main.ts', import.meta.url).href);
} else {
  const name = `node-${process.platform}-${process.arch}`;
  console.error(
    `capstan needs Node 24 or newer. This is ${process.version}, and the package ${name} is not installed: run "npm install", or use a newer Node.`,
  );
  process.exit(1);
}
