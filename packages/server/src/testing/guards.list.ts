// Written by `npm run generate` from the folders of the resources. Do not edit it.
import { credentialGuards } from '../access/credentials/credential.guards.ts';
import { directoryGuards } from '../access/directory/directory.guards.ts';
import { accessGuards } from '../access/explanation/access.guards.ts';
import { groupGuards } from '../access/groups/group.guards.ts';
import { userGuards } from '../access/users/user.guards.ts';
import { agentGuards } from '../workspace/agents/agent.guards.ts';
import { connectionGuards } from '../workspace/connections/connection.guards.ts';
import { connectorOauthGuards } from '../workspace/connector-oauths/connector-oauth.guards.ts';
import { connectorProfileGuards } from '../workspace/connector-profiles/connector-profile.guards.ts';
import { environmentGuards } from '../workspace/environments/environment.guards.ts';
import { projectTagGuards } from '../workspace/project-tags/project-tag.guards.ts';
import { projectGuards } from '../workspace/projects/project.guards.ts';
import { secretReferenceGuards } from '../workspace/secret-references/secret-reference.guards.ts';
import { streamingPipelineGuards } from '../workspace/streaming-pipelines/streaming-pipeline.guards.ts';
import { variableGuards } from '../workspace/variables/variable.guards.ts';
import { artifactGuards } from '../delivery/artifacts/artifact.guards.ts';
import { enterpriseOauthGuards } from '../delivery/enterprise-oauths/enterprise-oauth.guards.ts';
import { gitDeliveryGuards } from '../delivery/git-delivery/git-delivery.guards.ts';
import { repositoryGuards } from '../delivery/repositories/repository.guards.ts';
import { repositoryMigrationGuards } from '../delivery/repository-migrations/repository-migration.guards.ts';
import { reviewGuards } from '../delivery/reviews/review.guards.ts';
import { sharedPipelineGuards } from '../delivery/shared-pipelines/shared-pipeline.guards.ts';
import { budgetGuards } from '../records/budgets/budget.guards.ts';
import { consumptionGuards } from '../records/consumption/consumption.guards.ts';
import { eventGuards } from '../records/events/event.guards.ts';
import { lineageGuards } from '../records/lineage/lineage.guards.ts';
import { webhookGuards } from '../records/webhooks/webhook.guards.ts';
import { agentLinkGuards } from '../runtime/agent-link/agent-link.guards.ts';
import { aiChangesGuards } from '../runtime/ai-changes/ai-changes.guards.ts';
import { aiTaskGuards } from '../runtime/ai-tasks/ai-task.guards.ts';
import { alertGuards } from '../runtime/alerts/alert.guards.ts';
import { backfillGuards } from '../runtime/backfills/backfill.guards.ts';
import { connectionTestGuards } from '../runtime/connection-tests/connection-test.guards.ts';
import { connectorAuthorizationGuards } from '../runtime/connector-authorizations/connector-authorization.guards.ts';
import { connectorTestGuards } from '../runtime/connector-tests/connector-test.guards.ts';
import { executionGuards } from '../runtime/executions/execution.guards.ts';
import { scheduleGuards } from '../runtime/schedules/schedule.guards.ts';
import { secretCheckGuards } from '../runtime/secret-checks/secret-check.guards.ts';
import { secretGuards } from '../runtime/secrets/secret.guards.ts';
import { testExecutionGuards } from '../runtime/test-executions/test-execution.guards.ts';
import { warehouseQueryGuards } from '../runtime/warehouse-queries/warehouse-query.guards.ts';

export const guards = [
  credentialGuards,
  directoryGuards,
  accessGuards,
  groupGuards,
  userGuards,
  agentGuards,
  connectionGuards,
  connectorOauthGuards,
  connectorProfileGuards,
  environmentGuards,
  projectTagGuards,
  projectGuards,
  secretReferenceGuards,
  streamingPipelineGuards,
  variableGuards,
  artifactGuards,
  enterpriseOauthGuards,
  gitDeliveryGuards,
  repositoryGuards,
  repositoryMigrationGuards,
  reviewGuards,
  sharedPipelineGuards,
  budgetGuards,
  consumptionGuards,
  eventGuards,
  lineageGuards,
  webhookGuards,
  agentLinkGuards,
  aiChangesGuards,
  aiTaskGuards,
  alertGuards,
  backfillGuards,
  connectionTestGuards,
  connectorAuthorizationGuards,
  connectorTestGuards,
  executionGuards,
  scheduleGuards,
  secretCheckGuards,
  secretGuards,
  testExecutionGuards,
  warehouseQueryGuards,
] as const;
