/** Waits between two attempts. */
import type { ActionResult } from './action-context.ts';
import type { RunContext } from './run-context.ts';

/** Waits. Returns the reason if the run has to end earlier. */
export async function waitUnlessHalted(
  context: RunContext,
  milliseconds: number,
): Promise<ActionResult | undefined> {
  if (milliseconds <= 0) return undefined;
  const halted = context.findHalt();
  if (halted !== undefined) return halted;
  await context.ports.wait(milliseconds, context.limit);
  return context.findHalt();
}
