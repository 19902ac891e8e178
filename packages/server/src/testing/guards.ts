/** The only list of the slices' guards: the requests and expectations of the tests over all operations. */
import type { Operation } from '@headgate/contract';
import { credentialGuards } from '../access/credentials/credential.guards.ts';
import { artifactGuards } from '../delivery/artifacts/artifact.guards.ts';
import { sharedPipelineGuards } from '../delivery/shared-pipelines/shared-pipeline.guards.ts';
import { eventGuards } from '../records/events/event.guards.ts';
import { agentLinkGuards } from '../runtime/agent-link/agent-link.guards.ts';
import { executionGuards } from '../runtime/executions/execution.guards.ts';
import { secretCheckGuards } from '../runtime/secret-checks/secret-check.guards.ts';
import { secretGuards } from '../runtime/secrets/secret.guards.ts';
import { testExecutionGuards } from '../runtime/test-executions/test-execution.guards.ts';
import { agentGuards } from '../workspace/agents/agent.guards.ts';
import { connectionGuards } from '../workspace/connections/connection.guards.ts';
import { environmentGuards } from '../workspace/environments/environment.guards.ts';
import { projectTagGuards } from '../workspace/project-tags/project-tag.guards.ts';
import { projectGuards } from '../workspace/projects/project.guards.ts';
import { secretReferenceGuards } from '../workspace/secret-references/secret-reference.guards.ts';
import { variableGuards } from '../workspace/variables/variable.guards.ts';
import { mergeTables } from './guard-sum.ts';
import type { PermissionRowName } from './permission-rows.ts';

/** In the order of main/slices.ts. */
const guards = [
  credentialGuards,
  eventGuards,
  projectGuards,
  environmentGuards,
  connectionGuards,
  secretReferenceGuards,
  variableGuards,
  agentGuards,
  artifactGuards,
  sharedPipelineGuards,
  executionGuards,
  testExecutionGuards,
  agentLinkGuards,
  secretGuards,
  secretCheckGuards,
  projectTagGuards,
];

/** By operation id. */
export const examples = mergeTables('examples', guards, (each) => each.examples);
/** By message id. */
export const protocolExamples = mergeTables('examples', guards, (each) => each.protocolExamples);
export const uniqueNames = mergeTables('unique names', guards, (each) => each.uniqueNames);
export const counted = mergeTables('counted resources', guards, (each) => each.counted);
export const countedElsewhere = mergeTables('counted resources', guards, (each) => each.countedElsewhere);
/** The row of the permission table for each operation. */
export const permissionRowOf = mergeTables('rows of permissions', guards, (each) =>
  mergeTables('rows of permissions', Object.entries(each.permissions), ([row, ids]) =>
    Object.fromEntries(ids.map((id) => [id, row as PermissionRowName])),
  ),
);

/** Resources of a later slice belong to those of an earlier one, so they are deleted first. */
const takers = guards.flatMap(({ takesPlaceAway = [] }) => takesPlaceAway).reverse();

/** Whether an operation's example deletes the place itself. */
export function takesPlaceAway({ id }: Operation): boolean {
  return takers.includes(id);
}

/** Sorts operations so that those that delete the place come last. */
export function sortGuards(operations: readonly Operation[]): Operation[] {
  return operations.toSorted((one, other) => takers.indexOf(one.id) - takers.indexOf(other.id));
}
