/** Records used sealed values by `jti` on disk until they expire, so that none is written twice. */
import { createHash } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sealedSecondsLimit } from '@headgate/contract/without-schemas';
import { makePrivateFolder } from '../host/folders.ts';
import { makePrivateFile, readPrivateFile, writeWithoutSync } from '../host/private-file.ts';

interface TakenValue {
  workId: string;
  sha256: string;
  /** Milliseconds since 1970. Afterwards the value is refused as expired. */
  until: number;
  receipt?: string;
}

/**
 * `new`: not used before. `again`: the same work started before and its end is unknown; repeating it is safe,
 * since the same value goes to the same place. `written`: done, with its receipt. `other work`: a replay.
 */
export type Taking =
  | { state: 'new' | 'again' | 'other work' }
  | {
      state: 'written';
      receipt: string;
    };

/** Spare time, because the machine's clock may be set back. */
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

/** Undefined if the file is damaged after a power failure. The value then counts as used by other work. */
async function readTaken(path: string): Promise<TakenValue | undefined> {
  try {
    return JSON.parse(String(await readPrivateFile(path))) as TakenValue;
  } catch {
    return undefined;
  }
}
