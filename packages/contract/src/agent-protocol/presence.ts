/** Hello, heartbeats and goodbye: which instances of an agent there are, and what they hold. */
import { type Static, Type } from 'typebox';
import { agentStatuses } from '../agent/agent.ts';
import { oneOf, Uuid } from '../primitives.ts';
import { claimWaitLimitSeconds } from './protocol-constants.ts';
import { agentCommands, Holding, RequestedBy, workCommands } from './work.ts';

/**
 * A line of JSON on the standard input of an agent that ends with it: what the program that started it has to
 * say.
 */
export interface ParentMessage {
  /** In place of the one before, which was refreshed. */
  clientSecret: string;
}

export const HelloRequest = Type.Object({
  protocolVersions: Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1, maxItems: 20 }),
  agentVersion: Type.String({ minLength: 1, maxLength: 50 }),
  instanceId: Uuid,
  abilities: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), { maxItems: 100 }),
  concurrency: Type.Integer({ minimum: 1, maximum: 10_000, description: 'Places for runs' }),
  shortConcurrency: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 10_000,
      description: 'Places for short work. Absent: it takes places for runs',
    }),
  ),
});
export type HelloRequest = Static<typeof HelloRequest>;

export const HelloResponse = Type.Object({
  protocolVersion: Type.Integer({ minimum: 1 }),
  agentId: Uuid,
  name: Type.String({ maxLength: 255 }),
  serverVersion: Type.String({ maxLength: 50 }),
  heartbeatSeconds: Type.Integer({ minimum: 1 }),
  leaseSeconds: Type.Integer({ minimum: 1 }),
  claimWaitSeconds: Type.Integer({ minimum: 0, maximum: claimWaitLimitSeconds }),
  databaseCluster: Type.Optional(
    Type.String({
      maxLength: 50,
      description:
        'The system identifier of the PostgreSQL cluster of the server, to which no warehouse connection may lead. Absent, of an older server: not known',
    }),
  ),
});
export type HelloResponse = Static<typeof HelloResponse>;

export const HeartbeatRequest = Type.Object({
  instanceId: Uuid,
  held: Type.Array(Type.Object(Holding), { maxItems: 1_000 }),
});
export type HeartbeatRequest = Static<typeof HeartbeatRequest>;

export const HeartbeatResponse = Type.Object({
  held: Type.Array(
    Type.Object({
      ...Holding,
      state: oneOf(['held', 'lost']),
      command: Type.Optional(oneOf(workCommands)),
      requestedBy: Type.Optional(RequestedBy),
    }),
    { maxItems: 1_000 },
  ),
  agentCommand: Type.Optional(oneOf(agentCommands)),
});
export type HeartbeatResponse = Static<typeof HeartbeatResponse>;

export const goodbyeStages = ['stopping', 'stopped'] as const;
export type GoodbyeStage = (typeof goodbyeStages)[number];

export const GoodbyeRequest = Type.Object({ instanceId: Uuid, stage: oneOf(goodbyeStages) });
export type GoodbyeRequest = Static<typeof GoodbyeRequest>;

export const GoodbyeResponse = Type.Object({
  agentStatus: oneOf(agentStatuses, { description: 'Of the agent, whose other instances may go on' }),
});
export type GoodbyeResponse = Static<typeof GoodbyeResponse>;
