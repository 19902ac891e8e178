/** A small file system in memory that a test can fill. */
import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Why such a disk is not possible here; undefined if it is. */
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
  // Lazily, because a process of a failed test may still use it.
  execFileSync('umount', ['-l', folder], { stdio: 'pipe' });
}

export class SmallDisk {
  readonly folder: string;
  readonly #ballast: string;

  /** @param folder is created, and becomes the root of this disk */
  constructor(folder: string, megabytes: number) {
    this.folder = folder;
    this.#ballast = join(folder, 'ballast');
    mkdirSync(folder);
    mount(folder, megabytes);
    // The users of PostgreSQL and of the agent must be able to enter it, as with the server's data directory.
    chmodSync(folder, 0o711);
  }

  /** Uses all free space. May be called again. */
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

  /** Frees the space that `fill` used. */
  free(): void {
    rmSync(this.#ballast, { force: true });
  }

  remove(): void {
    unmount(this.folder);
  }
}
