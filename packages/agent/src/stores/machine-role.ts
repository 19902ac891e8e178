/**
 * Where the key of the machine's role may be sent. A request carries its key id and session token, and pipelines name
 * endpoints: only Amazon's own, and those that the operator of the agent named, get it.
 */
import { PermanentFault, type StoreAddress } from '@headgate/pipelines';

export interface MachineRole {
  /** Hosts besides Amazon's, with their port if it is not that of the protocol. */
  hosts: readonly string[];
}

/** S3 in a region or a private link. Other names of amazonaws.com are machines of anybody. */
const amazonHosts = [
  /^s3(?:\.amazonaws\.com|(?:-fips)?(?:\.dualstack)?\.[a-z0-9-]{4,40}\.amazonaws\.com(?:\.cn)?)$/,
  /^(?:bucket\.)?vpce-[a-z0-9-]{8,80}\.s3\.[a-z0-9-]{4,40}\.vpce\.amazonaws\.com(?:\.cn)?$/,
];

/** @throws PermanentFault */
export function requireRoleEndpoint({ endpoint }: StoreAddress, role: MachineRole): void {
  if (endpoint !== undefined) requireRoleUrl(new URL(endpoint), role);
}

/**
 * Judges the address of a request, which is made of the endpoint, the bucket and the region. A host may begin with the
 * name of a bucket.
 *
 * @throws PermanentFault
 */
export function requireRoleUrl({ protocol, host }: URL, { hosts }: MachineRole): void {
  const [, shorter = ''] = /^[a-z0-9][a-z0-9-]{0,61}[a-z0-9]\.(.{1,255})$/.exec(host) ?? [];
  const isKnown = (each: string) =>
    hosts.includes(each) || (protocol === 'https:' && amazonHosts.some((pattern) => pattern.test(each)));
  if (isKnown(host) || isKnown(shorter)) return;
  throw new PermanentFault(
    `the role of the agent's machine may not be used with ${host}: leave "endpoint" empty for Amazon S3, name credentials, or ask the operator of the agent for HEADGATE_AGENT_MACHINE_ROLE=${host}`,
  );
}
