/** Where the modules of the agent's processes are. */
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

let folders: readonly string[] | undefined;

/** This package, its imports, and every `node_modules` on the way up. */
export function findCodeFolders(): readonly string[] {
  if (folders) return folders;
  const own = dirname(dirname(dirname(realpathSync(fileURLToPath(import.meta.url)))));
  const found = new Set([own]);
  for (const name of ['@headgate/contract', '@headgate/pipelines']) {
    found.add(dirname(dirname(realpathSync(fileURLToPath(import.meta.resolve(name))))));
  }
  for (let folder = own; folder !== dirname(folder); folder = dirname(folder)) {
    const modules = join(folder, 'node_modules');
    if (existsSync(modules)) found.add(modules);
  }
  folders = [...found];
  return folders;
}
