import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin, type Rolldown } from 'vite';
import { licensesOf } from '../cli/scripts/licenses.ts';

const output = join(import.meta.dirname, 'dist');
/** Below it, compression gains nothing. */
const smallest = 1024;

/** Compresses the files once, so that the process that serves them need not. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    closeBundle() {
      for (const name of readdirSync(output, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(js|css|html|svg)$/.test(name)) continue;
        const file = join(output, name);
        const content = readFileSync(file);
        if (content.length < smallest) continue;
        writeFileSync(`${file}.gz`, gzipSync(content));
        writeFileSync(`${file}.br`, brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } }));
      }
    },
  };
}

/** In bytes, compressed: everything that a browser loads before the first page is usable. */
const budget = 250 << 10;
const firstPage = 'src/pages/home/home.tsx';

/** Fails the build when the first page needs more than its budget. Larger libraries belong into chunks that are loaded when they are used. */
function budgeted(): Plugin {
  return {
    name: 'budgeted',
    apply: 'build',
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((part): part is Rolldown.OutputChunk => part.type === 'chunk');
      const first = chunks.filter(({ isEntry, facadeModuleId }) => isEntry || facadeModuleId?.endsWith(firstPage) === true);
      const needed = new Set<string>();
      const need = (name: string): void => {
        const part = bundle[name];
        if (part?.type !== 'chunk' || needed.has(name)) return;
        needed.add(name);
        for (const style of part.viteMetadata?.importedCss ?? []) needed.add(style);
        for (const imported of part.imports) need(imported);
      };
      for (const { fileName } of first) need(fileName);
      const contentOf = (name: string): string | Uint8Array => {
        const part = bundle[name]!;
        return part.type === 'chunk' ? part.code : part.source;
      };
      const size = [...needed].reduce((sum, name) => sum + gzipSync(contentOf(name)).length, 0);
      if (first.length < 2) this.error(`expected the chunks of the entry and of ${firstPage}, found ${first.length}`);
      if (size > budget) this.error(`the first page needs ${size} bytes, compressed; at most ${budget} are allowed`);
      this.info(`the first page needs ${size} bytes, compressed`);
    },
  };
}

/** Writes the licenses of the bundled packages, which must be distributed with the code. */
function licensed(): Plugin {
  return {
    name: 'licensed',
    apply: 'build',
    generateBundle(_options, bundle) {
      const modules = Object.values(bundle).flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
      this.emitFile({ type: 'asset', fileName: 'third-party-licenses.txt', source: licensesOf(modules) });
    },
  };
}

/** Where `capstan console-server` listens, for `npm run dev`. */
const server = process.env['CAPSTAN_CONSOLE'] ?? 'http://127.0.0.1:6445';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [budgeted(), licensed(), compressed()],
  resolve: { alias: { 'react-remove-scroll': join(import.meta.dirname, 'src/components/scroll-lock.tsx') } },
  build: {
    target: 'es2023',
    outDir: output,
    emptyOutDir: true,
    // The policy of the pages allows no code in attributes or data addresses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      // Directives for frameworks that render on servers.
      onLog: (level, log, report) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && report(level, log),
      treeshake: {
        // Definitions of kinds that no page uses stay out.
        moduleSideEffects: [{ test: /[\\/]packages[\\/](api|client|machinery)[\\/]/, sideEffects: false }],
      },
    },
  },
  server: {
    proxy: Object.fromEntries(
      ['/kube', '/rest', '/session', '/live'].map((path) => [
        path,
        { target: server, ws: true, changeOrigin: true, headers: { origin: server } },
      ]),
    ),
  },
});
