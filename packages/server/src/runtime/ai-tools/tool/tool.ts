/**
 * What an AI task can do: one value of `Tool` for each tool.
 *
 * Terminology
 *   call     one use of a tool, a row of `ai_call` before and after it
 *   actors   the task's creator, and the people behind the call: those who sent the messages that the turn answers,
 *            or who decided about the call, and the giver of the grant. A call may do what they all may do at that
 *            moment
 *   changes  the tool has an effect on the platform. Such a call needs a grant or a decision, and is never made
 *            in the mode PLAN
 */
import type { TSchema } from 'typebox';
import type { Scope } from '../../../kernel/security/permissions.ts';

/** The task that a call belongs to. */
export interface ToolTask {
  accountId: string;
  projectId: string;
  taskId: string;
  mode: 'ACT' | 'PLAN';
  /** The members of `agentConfig`, as they were written. */
  environmentName: string | undefined;
  sourceBranchName: string | undefined;
  targetBranchName: string | undefined;
  generateBranch: boolean;
  /** Files outside of it are not visible to the tools. */
  workingDirectory: string | undefined;
}

export interface ToolContext {
  task: ToolTask;
  /** A UUID. Effects use it as their `Idempotency-Key`: after a crash the same call is run again. */
  callId: string;
  actors: { creator: Scope; behindIds: readonly string[] };
  /** Aborted when the task is stopped, the time of the call is over, or the server shuts down. */
  signal: AbortSignal;
  now: Date;
  /** Of what people saw besides the input before they allowed the call. Undefined for a call that a grant allows. */
  shownDigest?: string | undefined;
}

export interface ToolResult {
  /** `FAILED`: the tool had no effect, and the text says why in words that the model can act on. */
  outcome: 'DONE' | 'FAILED';
  /** For the model and for people. Secrets are masked. The runner bounds it, and marks it as data. */
  text: string;
}

export interface PermissionMessage {
  title: string;
  body: string;
}

export interface Question extends PermissionMessage {
  /** What the message describes besides the input. A decision holds only while it is the same. */
  shownDigest?: string;
}

/** `input` has been checked against `inputSchema`, and is the parsed JSON of the model. */
export interface Tool {
  /** Unique: `[a-z_]{1,64}`. */
  name: string;
  /** For the model. */
  description: string;
  /** An object schema without additional properties. */
  inputSchema: TSchema;
  changes: boolean;
  /** It works in the environment of the task, and cannot be used by a task without one. */
  inEnvironment?: boolean | undefined;
  /** The tool returns rows of the warehouse of the environment. */
  returnsRows?: boolean | undefined;
  /**
   * What a person is asked before the call is made. It names the exact effect.
   * @throws ToolFault, Problem for a call that cannot be made now
   */
  ask(context: ToolContext, input: ToolInput): Question | Promise<Question>;
  /**
   * Makes the call. It may be made again with the same `callId` if the server was killed: its effects happen once
   * then. A thrown Problem is a result for the model; other failures are repeated, then end the task as ERRORED.
   */
  run(context: ToolContext, input: ToolInput): Promise<ToolResult>;
}

export type ToolInput = Readonly<Record<string, unknown>>;
