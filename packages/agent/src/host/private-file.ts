/** Small files that must never be lost or half written, readable by the agent's user only. */
import { randomUUID } from 'node:crypto';
import { link, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Replaces the file, whoever is killed: it is written aside, synced, and given its name only then. */
export async function writePrivateFile(path: string, content: string | Buffer): Promise<void> {
  const aside = await writeAside(path, content);
  await rename(aside, path);
  await syncFolder(path);
}

/** The same for what may be lost with the machine's power, for it can be found out again; never half written while the machine stays. */
export async function writeWithoutSync(path: string, content: string): Promise<void> {
  const aside = `${path}.${randomUUID()}.new`;
  await writeFile(aside, content, { flag: 'wx', mode: 0o600 });
  await rename(aside, path);
}

/** Makes the file if there is none; whether it did. Of two that make it at once one does. */
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

/** Undefined when there is no such file. */
export async function readPrivateFile(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/** The content of a file that is made at the first start. */
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
