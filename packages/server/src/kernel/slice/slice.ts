/**
 * What a slice provides to the server. A slice is the folder of one resource. Its `index.ts` exports one
 * value of this type, and main/slices.list.ts lists these values. Routes, kinds of work, retention rules and
 * periodic jobs are assembled from that list (main/assembly.ts), so that no other file names the slice
 * (docs/adr/0038).
 *
 * `Needs` are the dependencies of the slice's functions. The server passes all its dependencies to every
 * slice; the compiler checks that they suffice.
 */
import type { Endpoints } from '../endpoint/endpoint.ts';
import type { PeriodicJob } from '../retention/periodic-job.ts';
import type { RetentionRule } from '../retention/retention.ts';
import type { WorkOwner, WorkServices } from '../work/work.ts';

export interface Slice<Needs = object> {
  /** The name of its folder. */
  name: string;
  routes?: (endpoints: Endpoints, services: Needs) => void;
  /** The owner of each kind of work that the slice queues. */
  workKinds?: Readonly<Record<string, (services: WorkServices) => WorkOwner>>;
  retention?: (services: Needs) => readonly RetentionRule[];
  periodic?: (services: Needs) => readonly PeriodicJob[];
}
