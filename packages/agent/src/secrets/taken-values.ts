/** The sealed values that this agent has taken, by their `jti`, on its disk until they are stale: none is written twice. */
import { createHash } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sealedSecondsLimit } from '@headgate/contract';
import { makePrivateFolder } from '../host/folders.ts';
import { makePrivateFile, readPrivateFile, writeWithoutSync } from '../host/private-file.ts';

interface TakenValue {
  workId: string;
  sha256: string;
  /** Milliseconds since 1970; from then on the value is refused as stale. */
  until: number;
  receipt?: string;
}

/**
 * `new`: nobody had it. `again`: the same work was begun before and its end is not known, so that it may be done again: the same value
 * goes to the same place. `written`: the receipt of then. `other work`: a replay.
 */
export type Taking =
  | { state: 'new' | 'again' | 'other work' }
  | {
      state: 'written';
      receipt: string;
    };

/** The clock of this machine may be put back. */
const spareMilliseconds = 3_600_000;
const removeEveryMilliseconds = 600_000;

export class TakenValues {
  readonly #folder: string;
  readonly #now: () => Date;
  #removedAt = 0;

  private constructor(folder: string, now: () => Date) {
    this.#folder = folder;
    this.#now = now;
  }

  static async open(folder: string, now: () => Date = () => new Date()): Promise<TakenValues> {
    return new TakenValues(await makePrivateFolder(folder), now);
  }

  async take(jti: string, value: TakenValue): Promise<Taking> {
    await this.#removeStale();
    const path = this.#getPath(jti);
    if (await makePrivateFile(path, JSON.stringify(value))) return { state: 'new' };
    const before = await readTaken(path);
    if (before === undefined || before.workId !== value.workId || before.sha256 !== value.sha256)
      return { state: 'other work' };
    return before.receipt === undefined ? { state: 'again' } : { state: 'written', receipt: before.receipt };
  }

  async recordWritten(jti: string, value: TakenValue & { receipt: string }): Promise<void> {
    await writeWithoutSync(this.#getPath(jti), JSON.stringify(value));
  }

  #getPath(jti: string): string {
    return join(this.#folder, `${createHash('sha256').update(jti).digest('hex')}.json`);
  }

  async #removeStale(): Promise<void> {
    const now = this.#now().getTime();
    if (now - this.#removedAt < removeEveryMilliseconds) return;
    this.#removedAt = now;
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const until = (await readTaken(path))?.until ?? (await stat(path)).mtimeMs + sealedSecondsLimit * 1_000;
      if (until + spareMilliseconds < now) await rm(path, { force: true });
    }
  }
}

/** Undefined when the file is not whole, after the machine lost its power: then the value counts as taken by other work. */
async function readTaken(path: string): Promise<TakenValue | undefined> {
  try {
    return JSON.parse(String(await readPrivateFile(path))) as TakenValue;
  } catch {
    return undefined;
  }
}
