/**
 * V8 looks for garbage beside the program, on threads of its own. With ten thousand long-polls there is much to look through, and on a machine
 * of two cores those threads took the processor from whoever was to be answered: they take what is left (docs/adr/0026).
 */
import { readdirSync, readFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

const threads = '/proc/self/task';

/** Of this process. Only Linux tells threads apart. */
export function letCollectorYield(): void {
  if (process.platform !== 'linux') return;
  for (const id of readdirSync(threads)) {
    const name = readFileSync(`${threads}/${id}/comm`, 'latin1');
    if (name.startsWith('V8Worker')) setPriority(Number(id), constants.priority.PRIORITY_LOW);
  }
}
