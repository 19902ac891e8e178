/** Small files that must not be lost or partly written, accessible only by the agent's user. */
import { randomUUID } from 'node:crypto';
import { link, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Replaces the file atomically and durably: writes a temporary file, syncs it and renames it. */
export async function writePrivateFile(path: string, content: string | Buffer): Promise<void> {
  const aside = await writeAside(path, content);
  await rename(aside, path);
  await syncFolder(path);
}

/** Replaces the file atomically but not durably: a power failure may lose it. */
export async function writeWithoutSync(path: string, content: string): Promise<void> {
  const aside = `${path}.${randomUUID()}.new`;
  await writeFile(aside, content, { flag: 'wx', mode: 0o600 });
  await rename(aside, path);
}

/** Creates the file unless it exists. Returns whether it did. Of concurrent calls, one succeeds. */
export async function makePrivateFile(path: string, content: string | Buffer): Promise<boolean> {
  const aside = await writeAside(path, content);
  try {
    await link(aside, path);
    await syncFolder(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

/** Undefined if the file does not exist. */
export async function readPrivateFile(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/** Reads a file, which is created at the first start. */
export async function readOrMakePrivateFile(path: string, make: () => string): Promise<string> {
  const found = await readPrivateFile(path);
  if (found !== undefined) return found.toString('utf8').trim();
  await makePrivateFile(path, `${make()}\n`);
  return (await readFile(path, 'utf8')).trim();
}

async function writeAside(path: string, content: string | Buffer): Promise<string> {
  const aside = `${path}.${randomUUID()}.new`;
  const file = await open(aside, 'wx', 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  return aside;
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
