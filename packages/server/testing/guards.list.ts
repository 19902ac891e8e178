// Written by `npm run generate` from the folders of the resources. Do not edit it.
import { credentialGuards } from '../src/access/credentials/credential.guards.ts';
import { customRoleGuards } from '../src/access/custom-roles/custom-role.guards.ts';
import { directoryGuards } from '../src/access/directory/directory.guards.ts';
import { accessGuards } from '../src/access/explanation/access.guards.ts';
import { groupGuards } from '../src/access/groups/group.guards.ts';
import { identityIssuerGuards } from '../src/access/identity-issuers/identity-issuer.guards.ts';
import { invitationGuards } from '../src/access/invitations/invitation.guards.ts';
import { passkeyGuards } from '../src/access/passkeys/passkey.guards.ts';
import { personalTokenGuards } from '../src/access/personal-tokens/personal-token.guards.ts';
import { sessionGuards } from '../src/access/sessions/session.guards.ts';
import { signInGuards } from '../src/access/sign-in/sign-in.guards.ts';
import { userGuards } from '../src/access/users/user.guards.ts';
import { agentGuards } from '../src/workspace/agents/agent.guards.ts';
import { connectionGuards } from '../src/workspace/connections/connection.guards.ts';
import { connectorOauthGuards } from '../src/workspace/connector-oauths/connector-oauth.guards.ts';
import { connectorProfileGuards } from '../src/workspace/connector-profiles/connector-profile.guards.ts';
import { environmentGuards } from '../src/workspace/environments/environment.guards.ts';
import { projectTagGuards } from '../src/workspace/project-tags/project-tag.guards.ts';
import { projectGuards } from '../src/workspace/projects/project.guards.ts';
import { secretReferenceGuards } from '../src/workspace/secret-references/secret-reference.guards.ts';
import { streamingPipelineGuards } from '../src/workspace/streaming-pipelines/streaming-pipeline.guards.ts';
import { variableGuards } from '../src/workspace/variables/variable.guards.ts';
import { artifactGuards } from '../src/delivery/artifacts/artifact.guards.ts';
import { enterpriseOauthGuards } from '../src/delivery/enterprise-oauths/enterprise-oauth.guards.ts';
import { gitDeliveryGuards } from '../src/delivery/git-delivery/git-delivery.guards.ts';
import { repositoryGuards } from '../src/delivery/repositories/repository.guards.ts';
import { repositoryMigrationGuards } from '../src/delivery/repository-migrations/repository-migration.guards.ts';
import { reviewGuards } from '../src/delivery/reviews/review.guards.ts';
import { sharedPipelineGuards } from '../src/delivery/shared-pipelines/shared-pipeline.guards.ts';
import { budgetGuards } from '../src/records/budgets/budget.guards.ts';
import { consumptionGuards } from '../src/records/consumption/consumption.guards.ts';
import { eventGuards } from '../src/records/events/event.guards.ts';
import { lineageGuards } from '../src/records/lineage/lineage.guards.ts';
import { webhookGuards } from '../src/records/webhooks/webhook.guards.ts';
import { agentLinkGuards } from '../src/runtime/agent-link/agent-link.guards.ts';
import { aiChangesGuards } from '../src/runtime/ai-changes/ai-changes.guards.ts';
import { aiTaskGuards } from '../src/runtime/ai-tasks/ai-task.guards.ts';
import { alertGuards } from '../src/runtime/alerts/alert.guards.ts';
import { backfillGuards } from '../src/runtime/backfills/backfill.guards.ts';
import { connectionTestGuards } from '../src/runtime/connection-tests/connection-test.guards.ts';
import { connectorAuthorizationGuards } from '../src/runtime/connector-authorizations/connector-authorization.guards.ts';
import { connectorTestGuards } from '../src/runtime/connector-tests/connector-test.guards.ts';
import { executionGuards } from '../src/runtime/executions/execution.guards.ts';
import { scheduleGuards } from '../src/runtime/schedules/schedule.guards.ts';
import { secretCheckGuards } from '../src/runtime/secret-checks/secret-check.guards.ts';
import { secretGuards } from '../src/runtime/secrets/secret.guards.ts';
import { testExecutionGuards } from '../src/runtime/test-executions/test-execution.guards.ts';
import { warehouseQueryGuards } from '../src/runtime/warehouse-queries/warehouse-query.guards.ts';

export const guards = [
  credentialGuards,
  customRoleGuards,
  directoryGuards,
  accessGuards,
  groupGuards,
  identityIssuerGuards,
  invitationGuards,
  passkeyGuards,
  personalTokenGuards,
  sessionGuards,
  signInGuards,
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
