/** What a load of objects says: its message, and a line of the run's log for each fault. */

export interface LoadOutcome {
  rows: number;
  /** Each with its place. */
  faults: string[];
  /** All faults, also those that are not named. */
  faultCount: number;
  /** Keys of objects that were not loaded, and the number of their faults. */
  skipped: Map<string, number>;
}

/** Faults in the message. The log has more. */
const shownFaults = 5;
const loggedFaults = 1_000;

const count = (number: number, one: string) => `${number} ${number === 1 ? one : `${one}s`}`;

export function describeLoad(
  { rows, faults, faultCount, skipped }: LoadOutcome,
  objects: number,
  leftBehind: number,
  { reloads, isLimited, changed }: { reloads: boolean; isLimited: boolean; changed: readonly string[] },
): string {
  const lines = [`${count(rows, 'row')} from ${count(objects - skipped.size, 'object')}`];
  if (leftBehind > 0) {
    const why = isLimited ? 'the table has them, or sizeLimitB was reached' : 'the table has them';
    lines.push(
      `${count(leftBehind, 'object')} left out${reloads ? ' beyond sizeLimitB' : `: ${why}; forceLoad loads them again`}`,
    );
  }
  if (skipped.size > 0)
    lines.push(`${count(skipped.size, 'object')} skipped: ${[...skipped.keys()].slice(0, 10).join(', ')}`);
  if (changed.length > 0)
    lines.push(
      `${count(changed.length, 'object')} not deleted, because changed after being read: ${changed.slice(0, 10).join(', ')}`,
    );
  if (faultCount > 0) lines.push(`${count(faultCount, 'fault')}:`, ...faults.slice(0, shownFaults));
  if (faultCount > shownFaults) lines.push('the log of the run names more of them');
  return lines.join('\n');
}

export function describeNothing(place: string, pattern: string, listed: number, matching: number): string {
  if (listed === 0) return `no object begins with ${place}`;
  if (matching === 0)
    return `no object that begins with ${place} matches ${pattern}, of ${count(listed, 'object')}`;
  return `the table has all ${count(matching, 'object')} that match: forceLoad loads them again`;
}

export function printFaults({ faults, faultCount }: LoadOutcome, print: (line: string) => void): void {
  for (const fault of faults.slice(0, loggedFaults)) print(fault);
  if (faultCount > loggedFaults) print(`and ${faultCount - loggedFaults} more faults`);
}
