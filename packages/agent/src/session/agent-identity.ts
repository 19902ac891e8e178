/** Which agent this must be: of two whose credentials were mixed up each would run, as itself, what is meant for the other. */
import { type ControlPlane, ControlPlaneError } from './control-plane.ts';

/** Refuses the server's welcome when the credential is that of another agent than `agentId`. */
export function requireAgent(agentId: string | undefined, controlPlane: ControlPlane): ControlPlane {
  if (agentId === undefined) return controlPlane;
  return {
    ...controlPlane,
    async hello(body, signal) {
      const welcome = await controlPlane.hello(body, signal);
      if (welcome.agentId === agentId) return welcome;
      const whose = `the credential is that of the agent ${welcome.agentId} (${welcome.name})`;
      throw new ControlPlaneError(403, 'another-agent', `${whose}, and this must be ${agentId}`);
    },
  };
}
