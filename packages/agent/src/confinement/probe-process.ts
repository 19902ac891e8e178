/** The process of a probe: entry, started by `network-probe.ts` in the confinement that is probed. */
import { type ProbePorts, reach } from './reach.ts';

process.on('disconnect', () => process.exit(1));
process.on('message', async (ports: ProbePorts) => {
  const reached = await reach(ports, ['tcp', 'udp', 'dns']);
  process.send?.(reached, undefined, undefined, () => process.exit(0));
});
