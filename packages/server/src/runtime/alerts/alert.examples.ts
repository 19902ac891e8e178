/** A request that succeeds for each operation on alert rules. */
import type { Examples, Place } from '../../../testing/place.ts';

const buildRule = ({ named }: Place) => ({
  name: named('slow runs'),
  condition: { type: 'LONGER_THAN', minutes: 30 },
  environmentName: 'prod',
});

/** Returns its path. */
async function createRule(place: Place): Promise<string> {
  const { account, project } = place;
  const made = await account.admin.post<{ alertRuleId: string }>(
    `${project.path}/alert-rules`,
    buildRule(place),
  );
  return `${project.path}/alert-rules/${made.body.alertRuleId}`;
}

export const alertExamples: Examples = {
  async listAlertRules(place) {
    await createRule(place);
    return { path: `${place.project.path}/alert-rules?page=0&size=1` };
  },
  createAlertRule: (place) => ({ path: `${place.project.path}/alert-rules`, body: buildRule(place) }),
  getAlertRule: async (place) => ({ path: await createRule(place) }),
  updateAlertRule: async (place) => ({ path: await createRule(place), body: { enabled: false } }),
  deleteAlertRule: async (place) => ({ path: await createRule(place) }),
  listAlerts: async (place) => ({ path: `${await createRule(place)}/alerts?size=10` }),
};
