/**
 * One installation for the test files about lost agents and cancelled runs, which need short times for leases.
 * Each file leaves an agent that works.
 */
import { afterTestGroup } from '../../../scripts/run-test-group.ts';
import { Installation } from './installation.ts';

/** Longer than a busy machine lets an agent wait. */
const leaseSeconds = 4;
const graceSeconds = 4;

let started: Promise<Installation> | undefined;

/** The installation of this process, which is removed after the last file. */
export function impatientInstallation(): Promise<Installation> {
  started ??= start();
  return started;
}

async function start(): Promise<Installation> {
  const headgate = await Installation.create({
    environment: {
      HEADGATE_LEASE_SECONDS: String(leaseSeconds),
      HEADGATE_HEARTBEAT_SECONDS: '1',
      HEADGATE_GRACE_SECONDS: String(graceSeconds),
      HEADGATE_AGENT_EGRESS_ALLOW: '127.0.0.1/32',
    },
  });
  afterTestGroup(() => headgate.remove());
  await headgate.start('node');
  return headgate;
}
