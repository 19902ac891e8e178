// Written by `npm run generate` from the folders of the resources. Do not edit it.
import { accounts } from '../access/accounts/index.ts';
import { credentials } from '../access/credentials/index.ts';
import { customRoles } from '../access/custom-roles/index.ts';
import { directory } from '../access/directory/index.ts';
import { explanation } from '../access/explanation/index.ts';
import { groups } from '../access/groups/index.ts';
import { identityIssuers } from '../access/identity-issuers/index.ts';
import { invitations } from '../access/invitations/index.ts';
import { passkeys } from '../access/passkeys/index.ts';
import { personalTokens } from '../access/personal-tokens/index.ts';
import { programs } from '../access/programs/index.ts';
import { sessions } from '../access/sessions/index.ts';
import { signIn } from '../access/sign-in/index.ts';
import { tokens } from '../access/tokens/index.ts';
import { users } from '../access/users/index.ts';
import { agents } from '../workspace/agents/index.ts';
import { connections } from '../workspace/connections/index.ts';
import { connectorOauths } from '../workspace/connector-oauths/index.ts';
import { connectorProfiles } from '../workspace/connector-profiles/index.ts';
import { environments } from '../workspace/environments/index.ts';
import { projectTags } from '../workspace/project-tags/index.ts';
import { projects } from '../workspace/projects/index.ts';
import { secretReferences } from '../workspace/secret-references/index.ts';
import { streamingPipelines } from '../workspace/streaming-pipelines/index.ts';
import { variables } from '../workspace/variables/index.ts';
import { artifacts } from '../delivery/artifacts/index.ts';
import { blobs } from '../delivery/blobs/index.ts';
import { enterpriseOauths } from '../delivery/enterprise-oauths/index.ts';
import { gitDelivery } from '../delivery/git-delivery/index.ts';
import { gitProviders } from '../delivery/git-providers/index.ts';
import { gitRemotes } from '../delivery/git-remotes/index.ts';
import { git } from '../delivery/git/index.ts';
import { hostedRepositories } from '../delivery/hosted-repositories/index.ts';
import { qualityRules } from '../delivery/quality-rules/index.ts';
import { repositories } from '../delivery/repositories/index.ts';
import { repositoryMigrations } from '../delivery/repository-migrations/index.ts';
import { reviews } from '../delivery/reviews/index.ts';
import { sharedPipelines } from '../delivery/shared-pipelines/index.ts';
import { budgets } from '../records/budgets/index.ts';
import { consumption } from '../records/consumption/index.ts';
import { events } from '../records/events/index.ts';
import { lineage } from '../records/lineage/index.ts';
import { webhooks } from '../records/webhooks/index.ts';
import { agentLink } from '../runtime/agent-link/index.ts';
import { aiChanges } from '../runtime/ai-changes/index.ts';
import { aiTasks } from '../runtime/ai-tasks/index.ts';
import { aiTools } from '../runtime/ai-tools/index.ts';
import { alerts } from '../runtime/alerts/index.ts';
import { backfills } from '../runtime/backfills/index.ts';
import { connectionTests } from '../runtime/connection-tests/index.ts';
import { connectorAuthorizations } from '../runtime/connector-authorizations/index.ts';
import { connectorTests } from '../runtime/connector-tests/index.ts';
import { environmentDeletions } from '../runtime/environment-deletions/index.ts';
import { executions } from '../runtime/executions/index.ts';
import { schedules } from '../runtime/schedules/index.ts';
import { secretChecks } from '../runtime/secret-checks/index.ts';
import { secrets } from '../runtime/secrets/index.ts';
import { testExecutions } from '../runtime/test-executions/index.ts';
import { warehouseQueries } from '../runtime/warehouse-queries/index.ts';

export const slices = [
  accounts,
  credentials,
  customRoles,
  directory,
  explanation,
  groups,
  identityIssuers,
  invitations,
  passkeys,
  personalTokens,
  programs,
  sessions,
  signIn,
  tokens,
  users,
  agents,
  connections,
  connectorOauths,
  connectorProfiles,
  environments,
  projectTags,
  projects,
  secretReferences,
  streamingPipelines,
  variables,
  artifacts,
  blobs,
  enterpriseOauths,
  gitDelivery,
  gitProviders,
  gitRemotes,
  git,
  hostedRepositories,
  qualityRules,
  repositories,
  repositoryMigrations,
  reviews,
  sharedPipelines,
  budgets,
  consumption,
  events,
  lineage,
  webhooks,
  agentLink,
  aiChanges,
  aiTasks,
  aiTools,
  alerts,
  backfills,
  connectionTests,
  connectorAuthorizations,
  connectorTests,
  environmentDeletions,
  executions,
  schedules,
  secretChecks,
  secrets,
  testExecutions,
  warehouseQueries,
] as const;
