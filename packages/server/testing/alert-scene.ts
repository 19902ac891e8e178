/** Alert rules for tests, and runs that they judge. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { Alert, AlertRule, Page } from '@headgate/contract';
import { raiseDueAlerts } from '../src/runtime/alerts/alert-turns.ts';
import type { TestServer } from './open-server.ts';
import { createStartableWithAgent } from './startable-project.ts';

/** A project with a pipeline that runs, and alert rules. */
export async function createAlertScene(server: TestServer) {
  const { clock, deps } = server;
  const scene = await createStartableWithAgent(server);
  const { admin, made } = scene;
  const rules = `/projects/${made.projectId}/alert-rules`;
  const createRule = async (body: object) =>
    (await admin.post<AlertRule>(rules, { name: `rule ${randomUUID()}`, ...body })).body;
  /** Runs the pipeline of the scene for this time. */
  async function run(status: 'SUCCESS' | 'FAILED', seconds = 1, message = 'no such table'): Promise<string> {
    const id = await scene.started();
    const [work] = (await scene.instance.claim()).work;
    assert.ok(work);
    await scene.instance.report(work, { type: 'started' });
    clock.advance(seconds);
    const outcome = status === 'SUCCESS' ? { status } : { status, message };
    await scene.instance.report(work, { type: 'completed', outcome });
    return id;
  }
  /** Copies a rule this often. */
  const repeatRule = ({ alertRuleId }: AlertRule, times: number) =>
    server.database.query(
      `
      insert into alert_rule
      select r.account_id, gen_random_uuid(), r.project_id, r.name || ' ' || copy, r.condition_type, r.minutes, r.factor,
        r.environment_name, r.pipeline_name, r.schedule_id, r.webhook_ids, r.enabled, r.active_since, null, 1, r.created_at
      from alert_rule r, generate_series(1, $2::integer) copy where r.alert_rule_id = $1`,
      [alertRuleId, String(times)],
    );
  const listAlerts = async ({ alertRuleId }: AlertRule) => {
    await raiseDueAlerts(deps);
    return (await admin.get<Page<Alert>>(`${rules}/${alertRuleId}/alerts`)).body.results;
  };
  const countAlerts = async (rule: AlertRule) => (await listAlerts(rule)).length;
  return { ...scene, rules, createRule, repeatRule, run, listAlerts, countAlerts };
}
