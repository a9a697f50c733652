// Which model answers; shown only where there is a choice.
import { modelFor } from "../choices";
import { NEW } from "../drafts";
import { Store, useStore, useStorePart } from "../store";
import { LOADING, type Thread } from "../threads";
import { useClient } from "./context";

const NOTHING = new Store<Thread>(LOADING);

/** The model that a turn in this conversation asks for, null for the server's default. */
export function useModel(pk: string | null): string | null {
  const client = useClient();
  const models = useStore(client.models);
  const picked = useStore(client.choices.picked)[pk ?? NEW];
  const ofConversation = useStorePart(
    pk === null ? NOTHING : client.chat.thread(pk),
    (thread) => thread.conversation?.model,
  );
  return modelFor(models, picked, ofConversation);
}

export function ModelPicker({ pk }: { pk: string | null }) {
  const client = useClient();
  const models = useStore(client.models);
  const model = useModel(pk);
  if (models.length < 2) return null;
  return (
    <label className="model-picker">
      <span className="visually-hidden">Model</span>
      <select value={model ?? ""} onChange={(event) => client.choices.pick(pk ?? NEW, event.target.value)}>
        {models.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}
