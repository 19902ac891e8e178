/**
 * The modules that the processes of a test run have compiled. Node.js keeps them in a folder, and a killed process
 * leaves nothing there: without those of earlier runs, each process of a short run compiles the whole server.
 */
import { chmodSync, cpSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Three times what all tests need. Temporary files of tests also have entries, which no later run uses. */
const MOST_ENTRIES = 20_000;

export interface CompileCache {
  /** For NODE_COMPILE_CACHE. */
  path: string;
  /** Keeps what this run compiled for later runs. */
  save(): void;
}

/**
 * @param path the folder of this run. Agents of installations run as another user, and keep what they compile there
 * too.
 * @param lasting what this user has compiled in other runs; undefined: nothing is kept
 */
export function openCompileCache(
  path: string,
  lasting: string | undefined,
  mostEntries = MOST_ENTRIES,
): CompileCache {
  mkdirSync(path);
  chmodSync(path, 0o1777);
  if (lasting === undefined) return { path, save: () => {} };
  mkdirSync(lasting, { recursive: true });
  // Node.js has a folder for each of its versions and each user.
  const own = join(path, basename(lasting));
  cpSync(lasting, own, { recursive: true, preserveTimestamps: true });
  const known = new Map(readdirSync(own).map((name) => [name, statSync(join(own, name)).mtimeMs]));
  return {
    path,
    save() {
      const names = readdirSync(own);
      if (names.length > mostEntries) {
        rmSync(lasting, { recursive: true, force: true });
        return;
      }
      for (const name of names) {
        const entry = join(own, name);
        if (statSync(entry).mtimeMs !== known.get(name)) cpSync(entry, join(lasting, name));
      }
    },
  };
}
