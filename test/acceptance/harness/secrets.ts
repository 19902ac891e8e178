/** Searches for secrets in output and stored files. */
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The files below `folders` that contain one of the texts. */
export function filesHolding(texts: readonly string[], folders: readonly string[]): string[] {
  const sought = texts.map((text) => Buffer.from(text));
  return folders
    .filter((folder) => existsSync(folder))
    .flatMap(filesBelow)
    .filter((file) => {
      const bytes = readFileSync(file);
      return sought.some((text) => bytes.includes(text));
    });
}

function filesBelow(path: string): string[] {
  const stat = lstatSync(path);
  if (stat.isDirectory()) return readdirSync(path).flatMap((name) => filesBelow(join(path, name)));
  return stat.isFile() ? [path] : [];
}
