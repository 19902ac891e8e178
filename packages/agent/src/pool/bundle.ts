/** Bundles the code of a run's process into one file. Used in a checkout, and when the agent is packed. */
import { fileURLToPath } from 'node:url';
import type { BuildOptions, Plugin } from 'esbuild';

/** A part of the code is CommonJS, whose `require` of Node's own modules a module does not have. */
const banner = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

/** The process may read no other file, so that QuickJS is in the bundle. */
const embedQuickJs: Plugin = {
  name: 'embed-quickjs',
  setup(build) {
    build.onLoad({ filter: /[\\/]quickjs-bytes\.[jt]s$/ }, ({ path }) => ({
      contents:
        "import bytes from '@jitl/quickjs-wasmfile-release-sync/wasm';\nexport const readQuickJs = async () => bytes;",
      resolveDir: path.replace(/[\\/][^\\/]+$/, ''),
    }));
  },
};

/** Bundles for Node.js, into modules. */
export async function bundle(options: BuildOptions): Promise<void> {
  const { build, stop } = await import('esbuild');
  try {
    await build({
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node24',
      legalComments: 'none',
      logLevel: 'silent',
      banner: { js: banner },
      ...options,
    });
  } finally {
    // Otherwise its process stays as long as the agent.
    await stop();
  }
}

/** @param entry default: the process of a run */
export async function bundleRunCode(
  outputFile: string,
  entry = new URL('../engine/process/child.ts', import.meta.url),
): Promise<void> {
  await bundle({
    entryPoints: [fileURLToPath(entry)],
    outfile: outputFile,
    loader: { '.wasm': 'binary' },
    plugins: [embedQuickJs],
  });
}
