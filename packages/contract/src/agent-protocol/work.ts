/** Work, the claim that an instance holds on it, and the commands of the server. */
import { type Static, Type } from 'typebox';
import { oneOf, Uuid } from '../primitives.ts';

export const workKinds = [
  'pipeline-execution',
  'secret-write',
  'secret-check',
  'test-execution',
  'warehouse-query',
  'table-read',
  'connector-test',
  'connection-test',
  'connector-authorization',
] as const;
export type WorkKind = (typeof workKinds)[number];

export const workCommands = ['cancel', 'force-cancel'] as const;
export type WorkCommand = (typeof workCommands)[number];
export const RequestedBy = Type.String({
  maxLength: 255,
  description: 'The name of the caller that sent the command',
});
export const Command = Type.Object({
  workId: Uuid,
  epoch: Type.Integer({ minimum: 1 }),
  command: oneOf(workCommands),
  requestedBy: Type.Optional(RequestedBy),
});
export type Command = Static<typeof Command>;

export const agentCommands = ['restart'] as const;
export type AgentCommand = (typeof agentCommands)[number];

/** One claim of one work. */
export const Holding = { workId: Uuid, epoch: Type.Integer({ minimum: 1 }) };
