/**
 * Whether another attempt of a component would fail in the same way. By names, because the agent's own process does not
 * load what declares these errors. `EgressUnresolved` is not among them: a name may have an address later.
 */
const permanent = ['PermanentFault', 'EgressRefused'];

export const isPermanentFault = (error: unknown): boolean =>
  error instanceof Error && permanent.includes(error.name);
