import { constants, getPriority, platform, setPriority } from 'node:os';

/** In a thread: its long work leaves the processors to requests. Only Linux has a priority for each thread. */
export function lowerPriority(): void {
  const low = constants.priority.PRIORITY_BELOW_NORMAL;
  if (platform() === 'linux' && getPriority() < low) setPriority(low);
}
