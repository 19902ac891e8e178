/** The entry point of the probe's process, started by `network-probe.ts` with the launcher under test. */
import { type ProbePorts, reach } from './reach.ts';

process.on('disconnect', () => process.exit(1));
process.on('message', async (ports: ProbePorts) => {
  const reached = await reach(ports, ['tcp', 'udp', 'dns']);
  process.send?.(reached, undefined, undefined, () => process.exit(0));
});
