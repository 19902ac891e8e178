/** The compiled QuickJS. In the bundle of a run's process these bytes are part of the file. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export function readQuickJs(): Promise<Uint8Array<ArrayBuffer>> {
  return readFile(fileURLToPath(import.meta.resolve('@jitl/quickjs-wasmfile-release-sync/wasm')));
}
