/** A small file system of a test, in memory, which can be filled up. */
import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Why no such disk can be had here; undefined when it can. */
export function smallDiskRefusal(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-mount-'));
  try {
    mount(folder, 1);
    unmount(folder);
    return undefined;
  } catch (failure) {
    return `this user cannot mount a tmpfs: ${(failure as Error).message.split('\n')[0]}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function mount(folder: string, megabytes: number): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'pipe' });
}

function unmount(folder: string): void {
  // Lazily: a process that a failed test left behind may still be in it.
  execFileSync('umount', ['-l', folder], { stdio: 'pipe' });
}

export class SmallDisk {
  readonly folder: string;
  readonly #ballast: string;

  /** @param folder is made, and what lies below it then is on this disk */
  constructor(folder: string, megabytes: number) {
    this.folder = folder;
    this.#ballast = join(folder, 'ballast');
    mkdirSync(folder);
    mount(folder, megabytes);
    // As the server makes its data directory: the users of PostgreSQL and of the agent pass through it.
    chmodSync(folder, 0o711);
  }

  /** Takes all the space that is left. May be called again. */
  fill(): void {
    const file = openSync(this.#ballast, 'a');
    for (const bytes of [1_048_576, 4_096]) {
      try {
        while (writeSync(file, Buffer.alloc(bytes, 'x')) === bytes);
      } catch (failure) {
        if ((failure as NodeJS.ErrnoException).code !== 'ENOSPC') throw failure;
      }
    }
    closeSync(file);
  }

  /** Gives back what `fill` took. */
  free(): void {
    rmSync(this.#ballast, { force: true });
  }

  remove(): void {
    unmount(this.folder);
  }
}
