/** Checks the agent's identity: with mixed-up credentials, two agents would run each other's work. */
import { type ControlPlane, ControlPlaneError } from './control-plane.ts';

/** Refuses to connect if the credential belongs to another agent than `agentId`. */
export function requireAgent(agentId: string | undefined, controlPlane: ControlPlane): ControlPlane {
  if (agentId === undefined) return controlPlane;
  return {
    ...controlPlane,
    async hello(body, signal) {
      const welcome = await controlPlane.hello(body, signal);
      if (welcome.agentId === agentId) return welcome;
      const owner = `the credential belongs to the agent ${welcome.agentId} (${welcome.name})`;
      const remedy = `expected the agent ${agentId}: correct the credential or HEADGATE_AGENT_ID`;
      throw new ControlPlaneError(403, 'another-agent', `${owner}, ${remedy}`);
    },
  };
}
