/**
 * Assembles what the slices declare. If a name is declared twice, or no slice serves an operation of the
 * contract, the server does not start, and the error names the slices or the operation.
 */
import type { Operation } from '@headgate/contract';
import type { ManifestUse, ManifestUser } from '../delivery/blobs/index.ts';
import type { Endpoints } from '../kernel/endpoint/endpoint.ts';
import type { PeriodicJob } from '../kernel/retention/periodic-job.ts';
import type { RetentionRule } from '../kernel/retention/retention.ts';
import type { Slice } from '../kernel/slice/slice.ts';
import type { WorkOwners, WorkServices } from '../kernel/work/work.ts';

/** Registers the routes of all slices, and checks that each operation is served. */
export function serveSlices<Needs>(
  slices: readonly Slice<Needs>[],
  endpoints: Endpoints,
  services: Needs,
  operations: readonly Operation[],
): void {
  const servedBy = createRegister('operation');
  let serving = '';
  endpoints.app.addHook('onRoute', ({ config, method }) => {
    const operation = config?.operation;
    // Fastify adds a HEAD route to each GET.
    if (operation?.method === method) servedBy.add(operation.id, serving);
  });
  for (const slice of slices) {
    serving = slice.name;
    slice.routes?.(endpoints, services);
  }
  const missing = operations.filter(({ id }) => !servedBy.has(id)).map(({ id }) => id);
  if (missing.length > 0) throw new Error(`no slice serves these operations: ${missing.join(', ')}`);
}

export function collectWorkOwners(slices: readonly Slice<never>[], services: WorkServices): WorkOwners {
  const ownedBy = createRegister('kind of work');
  const owners = slices.flatMap(({ name, workKinds = {} }) =>
    Object.entries(workKinds).map(([kind, createOwner]) => {
      ownedBy.add(kind, name);
      return [kind, createOwner(services)] as const;
    }),
  );
  return new Map(owners);
}

export function collectRetentionRules<Needs>(
  slices: readonly Slice<Needs>[],
  services: Needs,
): RetentionRule[] {
  const ruledBy = createRegister('retention rule');
  return slices.flatMap(({ name, retention }) => {
    const rules = retention?.(services) ?? [];
    for (const { kind } of rules) ruledBy.add(kind, name);
    return rules;
  });
}

/** @param kernelJobs the jobs that belong to no slice */
export function collectPeriodicJobs<Needs>(
  slices: readonly Slice<Needs>[],
  services: Needs,
  kernelJobs: readonly PeriodicJob[],
): PeriodicJob[] {
  const declaredBy = createRegister('periodic job');
  for (const job of kernelJobs) declaredBy.add(job.name, 'kernel');
  const jobs = slices.flatMap(({ name, periodic }) => {
    const own = periodic?.(services) ?? [];
    for (const job of own) declaredBy.add(job.name, name);
    return own;
  });
  return [...kernelJobs, ...jobs];
}

export function collectManifestUses(
  slices: readonly (Slice<never> & Partial<ManifestUser>)[],
): ManifestUse[] {
  return slices.flatMap(({ manifestUses = [] }) => manifestUses);
}

/** Throws if a slice is listed twice. */
export function requireUniqueNames(slices: readonly Slice<never>[]): void {
  const names = createRegister('slice');
  for (const { name } of slices) names.add(name, name);
}

/** Records which slice declares a name; throws if a name is declared twice. */
function createRegister(what: string) {
  const declaredBy = new Map<string, string>();
  return {
    has: (name: string) => declaredBy.has(name),
    add(name: string, slice: string): void {
      const earlier = declaredBy.get(name);
      if (earlier !== undefined)
        throw new Error(`the ${what} ${JSON.stringify(name)} is declared twice: by ${earlier} and ${slice}`);
      declaredBy.set(name, slice);
    },
  };
}
