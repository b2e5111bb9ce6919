import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

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

/** Where `capstan console-server` listens, for `npm run dev`. */
const server = process.env['CAPSTAN_CONSOLE'] ?? 'http://127.0.0.1:6445';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [compressed()],
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
