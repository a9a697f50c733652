// Where the web UI starts.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./views/app";
import "./styles/base.css";
import "./styles/controls.css";
import "./styles/auth.css";
import "./styles/shell.css";
import "./styles/messages.css";
import "./styles/markdown.css";
import "./styles/composer.css";

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
