// A block of code: always left to right, with its language and a copy button.
import { CopyButton } from "./copy_button";

export function CodeBlock({ language, code }: { language: string; code: string }) {
  return (
    <div className="code-block" dir="ltr">
      <div className="code-head">
        <span>{language || "code"}</span>
        <CopyButton text={code} label="Copy code" />
      </div>
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
    </div>
  );
}
