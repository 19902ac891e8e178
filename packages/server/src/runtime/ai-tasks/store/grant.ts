/**
 * Grants: the calls that run without a decision. A grant holds for a tool whose schema is still the one that it
 * was given for, and for the arguments that it names.
 */
import { createHash } from 'node:crypto';
import type { AiGrantedPermission } from '@headgate/contract';
import type { Tool, ToolInput } from '../../ai-tools/index.ts';

export interface Grant {
  number: number;
  written: AiGrantedPermission;
  argumentsDigest: Buffer | null;
  schemaDigest: Buffer | null;
  usesLeft: number | null;
  grantedBy: string;
}

export function digestText(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Of what the tool takes and does: a grant or a decision is not for another version of it. */
export function digestTool({ name, inputSchema, changes }: Tool): Buffer {
  return digestText(JSON.stringify([name, inputSchema, changes]));
}

/** Of the values of these members, in the order of their names. */
export function digestArguments(values: Readonly<Record<string, unknown>>, names: readonly string[]): Buffer {
  return digestText(JSON.stringify(names.toSorted().map((name) => [name, values[name] ?? null])));
}

/** The grant that lets the call run, the most general first. */
export function findGrant(
  grants: readonly Grant[],
  call: { tool: Tool; input: ToolInput; environmentName: string | undefined },
  now: Date,
): Grant | undefined {
  const schema = digestTool(call.tool);
  return grants
    .filter((grant) => isGranted(grant, call, schema, now))
    .toSorted((one, other) => countLimits(one) - countLimits(other))[0];
}

function isGranted(
  { written, argumentsDigest, schemaDigest, usesLeft }: Grant,
  { tool, input, environmentName }: { tool: Tool; input: ToolInput; environmentName: string | undefined },
  schema: Buffer,
  now: Date,
): boolean {
  if (written.toolName !== tool.name || schemaDigest === null || !schemaDigest.equals(schema)) return false;
  if (usesLeft === 0) return false;
  if (written.expiresAt !== undefined && new Date(written.expiresAt) <= now) return false;
  const where = typeof input.environmentName === 'string' ? input.environmentName : environmentName;
  if (written.environmentName !== undefined && written.environmentName !== where) return false;
  if (written.arguments === undefined || argumentsDigest === null) return true;
  return digestArguments(input, Object.keys(written.arguments)).equals(argumentsDigest);
}

function countLimits({ written }: Grant): number {
  const { uses, expiresAt, arguments: values, environmentName } = written;
  return [uses, expiresAt, values, environmentName].filter((limit) => limit !== undefined).length;
}
